package sdkpeers

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/rye-os/rye/internal/modelhost"
)

// script is what the host says to both SDKs.
const script = `
turns:
  - think: [I read, " first."]
    say: [Let me, " see: <ü>", "."]
    calls:
      - {name: read_file, args: {path: a/b.txt, lines: [1, 2.5, -3], deep: {none: null, yes: true, text: "\"quoted\" 日本語"}}}
      - {name: list_all}
    usage: {input: 100, output: 20, reasoning: 7, cache_read: 30, cache_write: 40, cache_write_long: 5}
  - say: "First: ${result.0.text} Second: ${result.1.text}"
    usage: {input: 200, output: 9}
  - {say: cut short, stop: length}
  - {say: I would rather not., stop: refusal}
  - {bytes: 100000}
`

func serve(t *testing.T, script string) *modelhost.Server {
	t.Helper()
	s, err := modelhost.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	v, err := modelhost.Serve(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// sameJSON reports whether two texts say the same value.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatalf("%v in %s", err, a)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return reflect.DeepEqual(x, y)
}

const args = `{"path":"a/b.txt","lines":[1,2.5,-3],"deep":{"none":null,"yes":true,"text":"\"quoted\" 日本語"}}`
