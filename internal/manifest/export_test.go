package manifest

// Plain is to say what a parser of all YAML says, or nothing.
var Plain = plain
