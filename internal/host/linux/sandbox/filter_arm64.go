package sandbox

// deniedHere are further system calls that are denied, which only this architecture has.
func deniedHere() []uint32 { return nil }
