// Package supportbundle tests on a real API server that support bundles have what a bug report needs, and no secrets.
package supportbundle
