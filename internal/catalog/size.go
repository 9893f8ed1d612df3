package catalog

// MaxSpec is the largest spec of a NodeCatalog, in bytes of JSON. etcd stores 1.5 MiB for each object, and the node's
// agent writes the rest: config/policy allows it 72 KiB of characters, and each takes up to six bytes.
const MaxSpec = 1 << 20
