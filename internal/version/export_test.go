package version

// Pick lets the tests give build information that a test binary does not have.
var Pick = pick
