package store

import (
	"github.com/rye-os/rye/fault"
)

// deltaSizes reads the two sizes at the head of a delta: of its base and of its result. rest
// holds its instructions.
func deltaSizes(delta []byte) (base, result int64, rest []byte, err error) {
	base, rest, ok1 := deltaSize(delta)
	result, rest, ok2 := deltaSize(rest)
	if !ok1 || !ok2 {
		return 0, 0, nil, fault.New(fault.Integrity, "delta: sizes cut off or too large")
	}
	return base, result, rest, nil
}

func deltaSize(b []byte) (int64, []byte, bool) {
	var n int64
	for i := 0; i < len(b) && i < 9; i++ {
		n |= int64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}

// applyDelta returns the result of a delta on base. The result has the length that the delta
// declares, at most limit bytes.
func applyDelta(base, delta []byte, limit int64) ([]byte, error) {
	want, size, ops, err := deltaSizes(delta)
	if err != nil {
		return nil, err
	}
	if want != int64(len(base)) {
		return nil, fault.New(fault.Integrity, "delta: made for a base of %d bytes, this one has %d", want, len(base))
	}
	if size > limit {
		return nil, tooLarge(size, limit)
	}
	out := make([]byte, 0, min(size, maxBelieved))
	for len(ops) > 0 {
		op := ops[0]
		ops = ops[1:]
		var piece []byte
		switch {
		case op&0x80 != 0:
			var ok bool
			if piece, ops, ok = copyOp(op, ops, base); !ok {
				return nil, fault.New(fault.Integrity, "delta: copies from outside its base")
			}
		case op == 0:
			return nil, fault.New(fault.Integrity, "delta: reserved instruction")
		default:
			if len(ops) < int(op) {
				return nil, fault.New(fault.Integrity, "delta: cut off")
			}
			piece, ops = ops[:op], ops[op:]
		}
		if int64(len(out)+len(piece)) > size {
			return nil, fault.New(fault.Integrity, "delta: expands to more than the declared %d bytes", size)
		}
		out = append(out, piece...)
	}
	if int64(len(out)) != size {
		return nil, fault.New(fault.Integrity, "delta: expands to %d bytes, declared %d", len(out), size)
	}
	return out, nil
}

// copyOp reads the operands of a copy instruction and returns the bytes to copy.
func copyOp(op byte, ops, base []byte) (piece, rest []byte, ok bool) {
	var v [7]byte
	for i := range v {
		if op&(1<<i) != 0 {
			if len(ops) == 0 {
				return nil, nil, false
			}
			v[i], ops = ops[0], ops[1:]
		}
	}
	from := int64(v[0]) | int64(v[1])<<8 | int64(v[2])<<16 | int64(v[3])<<24
	n := int64(v[4]) | int64(v[5])<<8 | int64(v[6])<<16
	if n == 0 {
		n = 0x10000
	}
	if from+n > int64(len(base)) {
		return nil, nil, false
	}
	return base[from : from+n], ops, true
}
