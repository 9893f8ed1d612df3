// Package gitops tests Fettle's resources with the code of Flux and Argo CD: make gitops.
package gitops
