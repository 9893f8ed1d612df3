// Package nodeagent brings one host to the state that its NodeCatalog describes.
//
// An [Agent] watches that one object, fetches the catalogs that it names, runs them as one transaction of the
// engine, and writes the results into the object's status. It needs the API server only for changes: the last good
// catalogs are on the host's disk, and the agent goes on correcting drift by them.
package nodeagent
