package cage

import (
	"reflect"
	"testing"
)

func sample() Orders {
	return Orders{Argv: []string{"/bin/x", "", "a\nb"}, Env: []string{"A=1"}, Dir: "/p", Sealed: true, Back: true, Local: true,
		Listen: []Endpoint{{IP: []byte{127, 9, 0, 1}, Port: 443}, {IP: make([]byte, 16), Port: 65535}}, Names: File{Path: "/etc/hosts", Data: []byte("127.0.0.1 localhost\n")},
		Mounts: []Mount{{Kind: Given, Path: "/p", Source: "/q"}, {Kind: Tmpfs, Path: "/tmp", Size: 1 << 40}},
		Files:  []File{{Path: "a/b", Data: []byte("x"), Exec: true}, {Path: "c", Data: []byte{}}},
		Bounds: Bounds{Grants: []Grant{{Path: "/p", Rights: Write | Exec, Avoid: []string{"/p/x"}}}, Net: true, Ports: []uint16{}, Inside: true},
		Limits: []Limit{{Name: "cpu", Resource: 3, Max: 1 << 62}}}
}

func TestOrdersRoundTrip(t *testing.T) {
	for _, change := range []func(*Orders){func(*Orders) {}, func(o *Orders) { o.Bounds.Ports = nil }, func(o *Orders) { o.Bounds.Ports = []uint16{1, 65535} }} {
		in := sample()
		change(&in)
		out, err := Decode(in.Encode())
		if err != nil || !reflect.DeepEqual(in, out) {
			t.Errorf("Decode(Encode(%+v)) = %+v, %v", in, out, err)
		}
	}
}

func TestFoundRoundTrip(t *testing.T) {
	for _, in := range []Found{{}, {Status: 9, TempFull: true}, {Vanished: []string{"/a b", "/\"\n", "/ü\xff"}}} {
		if out, ok := ParseFound(in.String()); !ok || !reflect.DeepEqual(in, out) {
			t.Errorf("ParseFound(%q) = %+v, %v", in, out, ok)
		}
	}
	for _, bad := range []string{"", "ended", "ended x false", "ended 1", "ended 1 maybe", "ended 1 true x", `ended 1 true "a"b`, `ended 1 true "a" `} {
		if out, ok := ParseFound(bad); ok {
			t.Errorf("ParseFound(%q) = %+v", bad, out)
		}
	}
}

func FuzzDecode(f *testing.F) {
	o := sample()
	f.Add(o.Encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := Decode(raw)
		if err != nil {
			return
		}
		again, err := Decode(o.Encode())
		if err != nil || !reflect.DeepEqual(o, again) {
			t.Errorf("%+v comes back as %+v, %v", o, again, err)
		}
	})
}

func FuzzParseFound(f *testing.F) {
	f.Add(Found{Status: 256, Vanished: []string{"/a"}}.String())
	f.Fuzz(func(t *testing.T, line string) {
		if found, ok := ParseFound(line); ok {
			if again, ok := ParseFound(found.String()); !ok || !reflect.DeepEqual(found, again) {
				t.Errorf("%q", line)
			}
		}
	})
}
