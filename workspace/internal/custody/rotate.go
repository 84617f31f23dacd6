package custody

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/rye-os/rye/fault"
)

// RetiredPath returns a free path for the file of a key that is retired on a date
// (2006-01-02).
func RetiredPath(path, date string) (string, error) {
	for n := 1; n < 1000; n++ {
		p := path + retiredMark + date
		if n > 1 {
			p += fmt.Sprintf("-%d", n)
		}
		if _, err := os.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			return p, nil
		}
	}
	return "", fault.New(fault.Limit, "rotate key %s: a thousand of its keys were retired on %s", path, date)
}
