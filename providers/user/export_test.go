package user

import "strconv"

// Expiry returns an expiry as it is read back after it was set.
func Expiry(expiry string) (string, error) {
	day, err := expiryDay(expiry)
	if err != nil || day == "" {
		return neverExpires, err
	}
	n, err := strconv.ParseInt(day, 10, 64)
	return expiryOn(n), err
}
