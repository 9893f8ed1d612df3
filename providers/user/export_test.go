package user

import "strconv"

// Expiry is an expiry as it is read back once it was set.
func Expiry(expiry string) (string, error) {
	day, err := expiryDay(expiry)
	if err != nil || day == "" {
		return neverExpires, err
	}
	n, err := strconv.ParseInt(day, 10, 64)
	return expiryOn(n), err
}
