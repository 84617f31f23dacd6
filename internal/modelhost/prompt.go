package modelhost

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/rye-os/rye/agent/provider/script"
	"github.com/rye-os/rye/internal/strict"
)

// A prompt is a request of either format. Its Seed is its digest.
type prompt struct {
	script.Prompt
	stream    bool
	counted   bool // OpenAI: the stream ends with the usage
	maxOutput int64
	marks     []mark // the positions at which the cache may cut
}

// A mark is a position in a prompt up to which a cache may store it.
type mark struct {
	sum   [32]byte // of everything before it
	size  int64    // bytes before it
	write string   // "5m" or "1h" if the request asks to store it
}

// summing computes the digest and the marks of a prompt. The parts that the model reads are added
// piece by piece, in the order in which it reads them.
type summing struct {
	h    hash.Hash
	size int64
	all  []mark
}

func newSumming(format, model string) *summing {
	s := &summing{h: sha256.New()}
	s.add([]any{format, model})
	s.size, s.all = 0, nil // the model does not read them
	return s
}

// addKept appends a piece in canonical JSON: sorted keys, no spaces, unchanged numbers, a line feed
// after it. keep is the time for which a cache is asked to store the prompt up to here; "" for
// none.
func (s *summing) addKept(v any, keep string) {
	raw := append(compact(plain(v)), '\n')
	s.h.Write(raw)
	s.size += int64(len(raw))
	m := mark{size: s.size, write: keep}
	s.h.Sum(m.sum[:0])
	s.all = append(s.all, m)
}

func (s *summing) add(v any) { s.addKept(v, "") }

func (s *summing) digest() string { return "sha256:" + hex.EncodeToString(s.h.Sum(nil)) }

// plain returns a tool, a block or a message in one of its equivalent forms: without cache marks,
// null members and a false is_error, and with a text as content turned into one block. Values of
// other members stay unchanged.
func plain(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		if text, ok := v.(string); ok && k == "content" {
			v = []any{map[string]any{"type": "text", "text": text}}
		}
		if v != nil && k != "cache_control" && !(k == "is_error" && v == false) {
			out[k] = v
		}
	}
	return out
}

// An object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the object.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, compact(m.name)...), ':'), compact(m.value)...)
	}
	return append(b, '}'), nil
}

// compact writes a JSON value with sorted keys and only necessary escapes.
func compact(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("modelhost: " + err.Error()) // values come from JSON, or were checked
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// decodeJSON decodes strictly, and keeps numbers unchanged.
func decodeJSON(raw []byte) (any, error) { return strict.Value(raw, maxRequest) }
