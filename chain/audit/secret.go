package audit

import (
	"regexp"
	"strings"
	"sync"
)

// A token is a form of secrets that nothing else has. word is looked for first, since that
// is fast.
type token struct {
	what, word string
	re         func() *regexp.Regexp
}

func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// tokens are the forms that services publish for what they hand out, so that it is found.
var tokens = []token{
	{"a key of AWS", "AKIA", lazy(`\bAKIA[A-Z2-7]{16}\b`)},
	{"a key of AWS", "ASIA", lazy(`\bASIA[A-Z2-7]{16}\b`)},
	{"a token of GitHub", "gh", lazy(`\bgh[pousr]_[A-Za-z0-9]{36,}\b`)},
	{"a token of GitHub", "github_pat_", lazy(`\bgithub_pat_[A-Za-z0-9_]{60,}\b`)},
	{"a token of GitLab", "glpat-", lazy(`\bglpat-[A-Za-z0-9_-]{20,}`)},
	{"a token of Slack", "xox", lazy(`\bxox[abeoprs]-[A-Za-z0-9-]{20,}`)},
	{"a hook of Slack", "hooks.slack.com", lazy(`hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,}`)},
	{"a key of Anthropic", "sk-ant-", lazy(`\bsk-ant-[A-Za-z0-9_-]{32,}`)},
	{"a key of OpenAI", "sk-", lazy(`\bsk-(proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b`)},
	{"a key of Google", "AIza", lazy(`\bAIza[A-Za-z0-9_-]{35}`)},
	{"a secret of Google", "GOCSPX-", lazy(`\bGOCSPX-[A-Za-z0-9_-]{28}`)},
	{"a key of Stripe", "_live_", lazy(`\b[sr]k_live_[A-Za-z0-9]{20,}\b`)},
	{"a token of npm", "npm_", lazy(`\bnpm_[A-Za-z0-9]{36}\b`)},
	{"a token of PyPI", "pypi-", lazy(`\bpypi-AgEI[A-Za-z0-9_-]{50,}`)},
	{"a token of Hugging Face", "hf_", lazy(`\bhf_[A-Za-z0-9]{34}\b`)},
	{"a key of SendGrid", "SG.", lazy(`\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`)},
	{"a token of DigitalOcean", "dop_v1_", lazy(`\bdop_v1_[a-f0-9]{64}\b`)},
	{"a key of age", "AGE-SECRET-KEY-1", lazy(`\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b`)},
	{"a token of Telegram", ":AA", lazy(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b`)},
}

var (
	keyHead = lazy(`-----BEGIN (RSA |EC |DSA |OPENSSH |ENCRYPTED |PGP )?PRIVATE KEY( BLOCK)?-----`)
	keyBody = lazy(`^[\s"'#*/]*[A-Za-z0-9+/=]{40,}`)
	keyLine = lazy(`-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----(\\n|\s)*[A-Za-z0-9+/=]{40,}`)
)

// secrets finds tokens and private keys.
func (s *scan) secrets(line string) {
	for _, t := range tokens {
		if !strings.Contains(line, t.word) {
			continue
		}
		if found := t.re().FindString(line); found != "" && !placeholder(found) {
			s.add("secret", High, s.line, line, t.what)
			return
		}
	}
	if s.key > 0 && strings.TrimSpace(line) != "" {
		if s.line <= s.key+4 && keyBody().MatchString(line) {
			s.add("secret", High, s.key, "-----BEGIN PRIVATE KEY-----", "a private key")
			s.key = 0
		} else if s.line > s.key+4 {
			s.key = 0
		}
	}
	if strings.Contains(line, "PRIVATE KEY") {
		if keyLine().MatchString(line) {
			s.add("secret", High, s.line, "-----BEGIN PRIVATE KEY-----", "a private key")
		} else if keyHead().MatchString(line) {
			s.key = s.line
		}
	}
}

// placeholder reports whether a token is one that documentation shows: words that say so, or
// hardly any different characters.
func placeholder(found string) bool {
	low := strings.ToLower(found)
	for _, w := range []string{"example", "xxxx", "your", "placeholder", "redacted", "dummy", "0123456789", "123456789", "abcdefgh"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	different := map[rune]bool{}
	for _, r := range found {
		different[r] = true
	}
	return len(different) < 10
}

// blacken takes the tokens out of a line that is shown: a report is read by more people than
// the text.
func blacken(line string) string {
	for _, t := range tokens {
		if strings.Contains(line, t.word) {
			line = t.re().ReplaceAllStringFunc(line, func(found string) string { return found[:min(4, len(found))] + "…" })
		}
	}
	return line
}
