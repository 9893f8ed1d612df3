// Module pause builds the process that holds the namespaces of a pod open.
module github.com/fettle-dev/fettle/hack/cluster/pause

go 1.26.0
