package trust

import (
	"bytes"
	"testing"

	"github.com/rye-os/rye/objects"
)

// fourKiB is a sample tool padded to 4 KiB.
func fourKiB() []byte {
	b := []byte(samples[tool])
	for len(b) < 4096 {
		b = append(b, "# padding\n"...)
	}
	return b
}

func BenchmarkSign4KiB(b *testing.B) {
	k := newKey(b)
	it := parse(b, tool, fourKiB())
	for b.Loop() {
		if _, err := SignItem(b.Context(), k, it, inA, noon); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerify4KiB verifies a file that this process has not seen before.
func BenchmarkVerify4KiB(b *testing.B) { benchVerify(b, true) }

func BenchmarkVerifyAgain4KiB(b *testing.B) { benchVerify(b, false) }

func benchVerify(b *testing.B, forget bool) {
	k := newKey(b)
	st := storeOf(b, k)
	raw, err := SignItem(b.Context(), k, parse(b, tool, fourKiB()), inA, noon)
	must(b, err)
	it := parse(b, tool, raw)
	for b.Loop() {
		if forget {
			st.verdicts = nil
		}
		if _, err := Verify(it, inA, st); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBundleChain verifies a manifest, a chain of three items and forty
// dependencies of 4 KiB each, from nothing.
func BenchmarkBundleChain(b *testing.B) {
	k := newKey(b)
	files := bundleFS(40)
	manifest := signedManifest(b, k, files, "rye/bundle/std")
	keys := []PublicKey{k.Public()}
	for b.Loop() {
		bundle, err := VerifyBundle(manifest, files, keys)
		must(b, err)
		for _, f := range bundle.Files() {
			if bytes.HasPrefix([]byte(f.Path), []byte("tools/rye/core/")) {
				_, err = bundle.Item(f.Path)
			} else {
				_, err = bundle.File(f.Path)
			}
			must(b, err)
		}
	}
}

func BenchmarkParsePublicKey(b *testing.B) {
	line := newKey(b).Public().Authorized()
	for b.Loop() {
		if _, err := ParsePublicKey(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseStore(b *testing.B) {
	text, err := full(b).Encode()
	must(b, err)
	for b.Loop() {
		if _, err := ParseStore(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifySSHSIG(b *testing.B) {
	k, msg := newKey(b), objects.DigestOf(nil)
	armor, err := SignCommit(b.Context(), k, msg[:])
	must(b, err)
	for b.Loop() {
		if _, err := VerifySSHSIG(armor, GitNamespace, msg[:]); err != nil {
			b.Fatal(err)
		}
	}
}
