package report

// A Stored report is one in the history of a host, which numbers its reports.
type Stored struct {
	Number int64  `json:"number"`
	Report Report `json:"report"`
}
