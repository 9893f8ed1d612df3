// Package sdk has the libraries for the programs of external types.
package sdk

import _ "embed" // for Python

// PythonFile is the name under which programs import Python.
const PythonFile = "fettle.py"

// Python is the library for Python.
//
//go:embed python/fettle.py
var Python string
