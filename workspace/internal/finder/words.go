package finder

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// wordsID is the configuration of synonyms, and of words with little meaning.
const wordsID = "rye/search"

// wordsCaller reads it for every searching caller: it reveals nothing about anyone's items.
var wordsCaller = rye.Program("search", "rye.load.config.*")

// known remembers the last vocabulary, by the digests of its configuration's sources.
type known struct {
	mu   sync.Mutex
	from string
	is   *search.Vocabulary
}

func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.from, k.is = "", nil
}

// words returns the configured vocabulary, and notes about it for people. A configuration that
// cannot be used is left out, and the search goes on.
func (k *known) words(ctx context.Context, s *session.Session, stem func(string) string) (*search.Vocabulary, []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	from := shippedWords(ctx, s)
	if from != "" {
		if k.from != from {
			k.from, k.is = from, keptWords(s, from)
		}
		if k.is != nil {
			return k.is, nil
		}
	}
	c, err := look.Config(ctx, s, wordsCaller, wordsID)
	var notes []string
	if err != nil {
		c = &rye.ConfigResult{}
		if !fault.Is(err, fault.NotFound) {
			notes = append(notes, "config:"+wordsID+" is not used, so search has no synonyms: "+err.Error())
		}
	}
	if from == "" {
		for _, s := range c.Sources {
			from += s.SHA256 + "\n"
		}
	}
	if k.is == nil || k.from != from {
		k.from, k.is = from, search.NewVocabulary(stem, wordsOf(c.Value))
		if err == nil {
			keepWords(s, from, k.is)
		}
	}
	return k.is, notes
}

// Making a vocabulary takes longer than a search, so its text is kept among the caches. Its
// first line is the digest of its sources and of the text.
const wordsFile = "words.txt"

// wordsVersion is the version of the stemming and of the file's form.
const wordsVersion = "rye words 2\n"

func wordsHead(from, text string) string {
	sum := objects.DigestOf([]byte(wordsVersion + from + "\n" + text))
	return sum.String() + "\n"
}

// keptWords returns the vocabulary made from the same sources; nil where none is kept.
func keptWords(s *session.Session, from string) *search.Vocabulary {
	if s.CacheDir == "" {
		return nil
	}
	raw, err := place.Read(filepath.Join(s.CacheDir, wordsFile), 8<<20)
	if err != nil {
		return nil
	}
	head, text, _ := strings.Cut(string(raw), "\n")
	if head+"\n" != wordsHead(from, text) {
		return nil
	}
	v, err := search.ParseVocabulary(text)
	if err != nil {
		return nil
	}
	return v
}

func keepWords(s *session.Session, from string, v *search.Vocabulary) {
	if s.CacheDir != "" {
		_ = place.Cache(filepath.Join(s.CacheDir, wordsFile), []byte(wordsHead(from, v.Text())+v.Text()), 0o600)
	}
}

// shippedWords identifies the library's configuration, if no other space overrides it. It need
// not be read again then, which takes longer than many searches. "" is unknown.
func shippedWords(ctx context.Context, s *session.Session) string {
	ref := objects.Ref{Kind: objects.Config, ID: wordsID}
	for _, sp := range []objects.Space{objects.Project, objects.User} {
		if _, ok, err := s.Stack.In(ctx, sp, ref); ok || err != nil {
			return ""
		}
	}
	system, err := s.System()
	if err != nil {
		return ""
	}
	epoch, err := s.Trust.Epoch()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("library %s %x", system.Digest(), epoch)
}

// wordsOf reads lists of words, and skips other values.
func wordsOf(v map[string]any) search.Words {
	return search.Words{Same: lists(v["same"]), Synonyms: lists(v["synonyms"]), Common: texts(v["common"]), Weak: texts(v["weak"]), Compounds: texts(v["compounds"])}
}

func lists(v any) (all [][]string) {
	list, _ := v.([]any)
	for _, x := range list[:min(len(list), maxTexts)] {
		all = append(all, texts(x))
	}
	return all
}

// maxTexts bounds the length of one list of words.
const maxTexts = 8192

func texts(v any) (all []string) {
	list, _ := v.([]any)
	for _, x := range list[:min(len(list), maxTexts)] {
		if s, ok := x.(string); ok && s != "" {
			all = append(all, s)
		}
	}
	return all
}
