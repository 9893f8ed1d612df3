module github.com/fettle-dev/fettle/sdk/go

go 1.24
