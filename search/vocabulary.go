package search

import (
	"slices"
	"sort"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Vocabulary is knowledge about words, by their stems. It is lines of text, sorted by bytes: a
// kind, a word, a tab, and the words that it leads to, separated by spaces:
//
//	&lockfil	lock+file
//	+time off	vacat leav
//	=wrote	write
//	~fetch	download get
//
// Common and weak words lead to nothing. A vocabulary takes long to make, so its text may be kept.
// It is safe for concurrent use; nil is empty.
type Vocabulary struct {
	text   string
	at     []uint32        // offsets of the lines
	common map[string]bool // looked up for every word of every title
}

// The kinds of lines.
const (
	compound   = "&" // a compound and its two parts, lock+file; or a part and its compounds
	phrase     = "+" // two or three words with about the same meaning as others
	sameWord   = "=" // other forms of one word
	commonWord = "c" // no meaning of its own: the, how, please
	weakWord   = "w" // little meaning: find, new
	synonym    = "~" // words with about the same meaning
)

// maxVocabulary bounds the text of a vocabulary, in bytes.
const maxVocabulary = 8 << 20

// Text returns the text of v, for ParseVocabulary.
func (v *Vocabulary) Text() string { return v.text }

// ParseVocabulary reads the output of Text.
func ParseVocabulary(text string) (*Vocabulary, error) {
	if len(text) > maxVocabulary {
		return nil, fault.New(fault.Limit, "vocabulary: %d bytes, at most %d are allowed", len(text), maxVocabulary)
	}
	v := &Vocabulary{text: text, at: make([]uint32, 0, strings.Count(text, "\n")), common: map[string]bool{}}
	last := ""
	for at := 0; at < len(text); {
		line, _, whole := strings.Cut(text[at:], "\n")
		head, _, tab := strings.Cut(line, "\t")
		if !whole || !tab || len(head) < 2 || head <= last || !strings.Contains(compound+phrase+sameWord+commonWord+weakWord+synonym, head[:1]) {
			return nil, fault.New(fault.Malformed, "vocabulary: line %d", len(v.at)+1)
		}
		if head[:1] == commonWord {
			v.common[head[1:]] = true
		}
		v.at = append(v.at, uint32(at))
		last, at = head, at+len(line)+1
	}
	return v, nil
}

// line returns the words that a word leads to, and whether there is a line for it.
func (v *Vocabulary) line(kind, word string) (words string, ok bool) {
	if v == nil || word == "" {
		return "", false
	}
	want := kind + word
	head := func(i int) string { h, _, _ := strings.Cut(v.text[v.at[i]:], "\t"); return h }
	i := sort.Search(len(v.at), func(i int) bool { return head(i) >= want })
	if i == len(v.at) || head(i) != want {
		return "", false
	}
	line, _, _ := strings.Cut(v.text[v.at[i]:], "\n")
	return line[len(want)+1:], true
}

// of returns the words that a word leads to.
func (v *Vocabulary) of(kind, word string) []string {
	line, _ := v.line(kind, word)
	return strings.Fields(line)
}

// either returns the words that a stem leads to, or else those for the word itself.
func (v *Vocabulary) either(kind, stem, word string) []string {
	if list := v.of(kind, stem); list != nil {
		return list
	}
	return v.of(kind, word)
}

func (v *Vocabulary) has(kind, word string) bool {
	_, ok := v.line(kind, word)
	return ok
}

// saysLittle reports whether a folded word is a common one.
func (v *Vocabulary) saysLittle(word string) bool { return v != nil && v.common[word] }

// vocabulary returns the finished vocabulary.
func (v *learner) vocabulary() *Vocabulary {
	lines := map[string]string{}
	for kind, m := range map[string]map[string][]string{sameWord: v.same, synonym: v.synonyms, compound: v.compounds, phrase: v.phrases} {
		for word, leads := range m {
			if word != "" && len(leads) > 0 {
				lines[kind+word] = strings.Join(leads, " ")
			}
		}
	}
	for kind, m := range map[string]map[string]bool{commonWord: v.common, weakWord: v.weak} {
		for word := range m {
			if word != "" {
				lines[kind+word] = ""
			}
		}
	}
	heads := make([]string, 0, len(lines))
	for head := range lines {
		heads = append(heads, head)
	}
	slices.Sort(heads)
	var text strings.Builder
	for _, head := range heads {
		if text.Len()+len(head)+len(lines[head])+2 > maxVocabulary {
			break // more than any language has
		}
		text.WriteString(head + "\t" + lines[head] + "\n")
	}
	made, err := ParseVocabulary(text.String())
	if err != nil {
		panic(err) // words are folded: they have neither tabs nor lines
	}
	return made
}
