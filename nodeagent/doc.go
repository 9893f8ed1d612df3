// Package nodeagent keeps one host as its NodeCatalog says.
//
// An [Agent] watches that one object, fetches the catalogs that it names, runs them as
// an engine's transaction, and writes how the host is into the object's status. It
// needs the API server for news alone: what it last had is on the host's own disk, and
// the host is kept by that for as long as it takes.
//
// It has a cache and a client, and no controller-runtime manager: a manager starts
// nothing before its caches have synced, which they do not while the API server is away.
//
// What it says is decided by [Status], a pure function; a run that finds all as the
// last one left it says nothing.
package nodeagent
