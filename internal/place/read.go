package place

import (
	"io"
	"os"

	"github.com/rye-os/rye/internal/fault"
)

// Read returns the bytes of a regular file. One of more than limit bytes is refused
// (Limit) by its size, before anything of it is read, and so is what is no regular
// file (Malformed), which may never end or never begin. A file that is not there is
// fs.ErrNotExist.
func Read(path string, limit int64) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fault.New(fault.Malformed, "read %s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > limit {
		return nil, fault.New(fault.Limit, "read %s: larger than %d bytes", path, limit)
	}
	raw := make([]byte, 0, st.Size()+512)
	for r := io.LimitReader(f, limit+1); ; {
		if len(raw) == cap(raw) {
			raw = append(raw, 0)[:len(raw)]
		}
		n, err := r.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if int64(len(raw)) > limit { // it grew meanwhile
		return nil, fault.New(fault.Limit, "read %s: larger than %d bytes", path, limit)
	}
	return raw, nil
}
