package look

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/search"
)

// meant returns the search that may have been meant by one that found nothing: each plain
// word that occurs nowhere is replaced by the nearest that does. Where there is none, the
// list of everything is the way on.
func meant(query string, docs []search.Doc) fault.Hint {
	known := vocabulary(docs)
	asked, better := strings.Fields(query), false
	for i, w := range asked {
		w = strings.ToLower(w)
		if strings.Trim(w, letters) != "" || known[w] {
			continue
		}
		if near := nearestWord(w, known); near != "" {
			asked[i], better = near, true
		}
	}
	if !better {
		return fault.Advice("rye list")
	}
	return fault.Advice("rye search %s", strings.Join(asked, " "))
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"

// vocabulary returns the words of what is searched first.
func vocabulary(docs []search.Doc) map[string]bool {
	known := map[string]bool{}
	for _, d := range docs {
		for _, text := range append([]string{d.ID, d.Name, d.Title, d.Category, d.Description}, d.Tags...) {
			for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !strings.ContainsRune(letters, r) }) {
				known[w] = true
			}
		}
	}
	return known
}

// nearestWord returns the known word that is the fewest mistakes away, the first of several.
func nearestWord(w string, known map[string]bool) (best string) {
	least := 0
	for k := range known {
		if n, ok := words.Near(w, k); ok && (best == "" || n < least || n == least && k < best) {
			best, least = k, n
		}
	}
	return best
}
