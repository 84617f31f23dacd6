package table_test

import (
	"bytes"
	"testing"

	"github.com/rye-os/rye/internal/table"
)

const magic = "testing1"

func sealed(body string, rows int) []byte {
	b := append(make([]byte, table.Head), body...)
	table.Seal(b, magic, rows)
	return b
}

func TestOpen(t *testing.T) {
	raw := sealed("abc", 7)
	rows, c, err := table.Open(raw, magic, 0, 100)
	if err != nil || rows != 7 || c.Text(3) != "abc" || !c.Done() {
		t.Fatalf("%d rows, %v", rows, err)
	}
	for i := range raw {
		bad := bytes.Clone(raw)
		bad[i] ^= 1
		if _, _, err := table.Open(bad, magic, 0, 100); err == nil {
			t.Errorf("byte %d was flipped, and nobody noticed", i)
		}
	}
	for name, err := range map[string]error{
		"short": func() error { _, _, err := table.Open(raw, magic, 20, 100); return err }(),
		"long":  func() error { _, _, err := table.Open(raw, magic, 0, 18); return err }(),
		"empty": func() error { _, _, err := table.Open(nil, magic, 0, 18); return err }(),
		"other": func() error { _, _, err := table.Open(raw, "testing2", 0, 100); return err }(),
	} {
		if err != table.ErrForeign {
			t.Errorf("%s: %v, want %v", name, err, table.ErrForeign)
		}
	}
	h := table.NewSum()
	h.Write(raw)
	if h.Sum32() != table.Sum(raw) {
		t.Error("the sum of pieces is another one")
	}
}

func TestCursor(t *testing.T) {
	c := table.NewCursor([]byte("\x01\x02\x03\x04\x05\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00\x01\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08\xac\x02xyz"))
	b, n16 := c.Byte(), c.Uint16()
	if c.Byte(); b != 1 || n16 != 0x302 {
		t.Errorf("%d, %#x", b, n16)
	}
	if n32, n64, bit, count := c.Uint32(), c.Uint64(), c.Bit(), c.Int64(); n32 != 5 || n64 != 6 || !bit || count != 7 {
		t.Errorf("%d, %d, %v, %d", n32, n64, bit, count)
	}
	if big, v, left := c.Big32(), c.Uvarint(), c.Count(3, 1); big != 8 || v != 300 || left != 3 || c.Len() != 3 {
		t.Errorf("%d, %d, %d, %d left", big, v, left, c.Len())
	}
	var two [2]byte
	if c.Fill(two[:]); string(two[:]) != "xy" || c.Done() || c.Text(1) != "z" || !c.Done() {
		t.Errorf("%q", two)
	}
	// What is not there is zero, and so is all behind it.
	for name, read := range map[string]func(*table.Cursor) bool{
		"byte":    func(c *table.Cursor) bool { c.Bytes(3); return c.Byte() == 0 },
		"16":      func(c *table.Cursor) bool { c.Bytes(2); return c.Uint16() == 0 },
		"32":      func(c *table.Cursor) bool { return c.Uint32() == 0 },
		"64":      func(c *table.Cursor) bool { return c.Uint64() == 0 },
		"big":     func(c *table.Cursor) bool { return c.Big32() == 0 },
		"bytes":   func(c *table.Cursor) bool { return c.Bytes(4) == nil },
		"below 0": func(c *table.Cursor) bool { return c.Bytes(-1) == nil },
		"text":    func(c *table.Cursor) bool { return c.Text(4) == "" },
		"bit":     func(c *table.Cursor) bool { c.Byte(); return !c.Bit() },
		"count":   func(c *table.Cursor) bool { return c.Count(2, 2) == 0 },
		"huge":    func(c *table.Cursor) bool { return c.Count(1<<63, 1) == 0 },
		"varint":  func(c *table.Cursor) bool { c.Bytes(2); return c.Uvarint() == 0 },
		"need":    func(c *table.Cursor) bool { c.Need(true); ok := !c.Bad(); c.Need(false); return ok },
		"fill":    func(c *table.Cursor) bool { b := []byte("1234"); c.Fill(b); return string(b) == "\x00\x00\x00\x00" },
	} {
		c := table.NewCursor([]byte{1, 2, 0x80})
		if ok := read(c); !ok || !c.Bad() || c.Done() || c.Len() != 0 || c.Byte() != 0 {
			t.Errorf("%s: %v, bad %v, %d left", name, ok, c.Bad(), c.Len())
		}
	}
	if c := table.NewCursor([]byte("\xff\xff\xff\xff\xff\xff\xff\xff")); c.Int64() != 0 || !c.Bad() {
		t.Error("a number below zero is taken for a count")
	}
}

// FuzzOpen: a table is written again as it was, or refused; a Cursor never gives more than there
// is.
func FuzzOpen(f *testing.F) {
	f.Add(sealed("\x01\x02abc", 1))
	f.Add(sealed("", 0))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) >= table.Head {
			rest := bytes.Clone(raw)
			table.Seal(rest, magic, int(raw[12]))
			raw = rest
		}
		rows, c, err := table.Open(raw, magic, 0, 1<<10)
		if err != nil {
			return
		}
		again := bytes.Clone(raw)
		if table.Seal(again, magic, rows); !bytes.Equal(again, raw) {
			t.Fatalf("%q became %q", raw, again)
		}
		for read := 0; c.Len() > 0; {
			left, op := c.Len(), c.Byte()
			switch op % 6 {
			case 0:
				c.Uint16()
			case 1:
				c.Uint32()
			case 2:
				c.Uint64()
			case 3:
				c.Bytes(int(op))
			case 4:
				c.Uvarint()
			case 5:
				if n := c.Count(uint64(op), 3); n*3 > c.Len() {
					t.Fatalf("%d things of 3 bytes in %d", n, c.Len())
				}
			}
			if read += left - c.Len(); read > len(raw) || c.Bad() && c.Len() > 0 {
				t.Fatalf("%d of %d bytes were read, bad %v", read, len(raw), c.Bad())
			}
		}
	})
}
