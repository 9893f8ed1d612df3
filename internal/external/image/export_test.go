package image

// SchemeFor is for tests: no address of a test is both private and of another machine.
var SchemeFor = schemeFor
