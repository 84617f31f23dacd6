package audit

import (
	"regexp"
	"strings"
	"sync"
)

// A token is a form of secret that no other text has. word is searched first, because that is
// fast.
type token struct {
	what, word string
	re         *pattern
}

// A pattern is compiled at its first use, so a program that audits nothing does not pay for it.
type pattern struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

func (p *pattern) get() *regexp.Regexp {
	p.once.Do(func() { p.re = regexp.MustCompile(p.text) })
	return p.re
}

// tokens are the forms that services publish for their secrets, so that scanners find them.
var tokens = []token{
	{"an AWS key", "AKIA", &pattern{text: `\bAKIA[A-Z2-7]{16}\b`}},
	{"an AWS key", "ASIA", &pattern{text: `\bASIA[A-Z2-7]{16}\b`}},
	{"a GitHub token", "gh", &pattern{text: `\bgh[pousr]_[A-Za-z0-9]{36,}\b`}},
	{"a GitHub token", "github_pat_", &pattern{text: `\bgithub_pat_[A-Za-z0-9_]{60,}\b`}},
	{"a GitLab token", "glpat-", &pattern{text: `\bglpat-[A-Za-z0-9_-]{20,}`}},
	{"a Slack token", "xox", &pattern{text: `\bxox[abeoprs]-[A-Za-z0-9-]{20,}`}},
	{"a Slack webhook", "hooks.slack.com", &pattern{text: `hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,}`}},
	{"an Anthropic key", "sk-ant-", &pattern{text: `\bsk-ant-[A-Za-z0-9_-]{32,}`}},
	{"an OpenAI key", "sk-", &pattern{text: `\bsk-(proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b`}},
	{"a Google key", "AIza", &pattern{text: `\bAIza[A-Za-z0-9_-]{35}`}},
	{"a Google secret", "GOCSPX-", &pattern{text: `\bGOCSPX-[A-Za-z0-9_-]{28}`}},
	{"a Stripe key", "_live_", &pattern{text: `\b[sr]k_live_[A-Za-z0-9]{20,}\b`}},
	{"an npm token", "npm_", &pattern{text: `\bnpm_[A-Za-z0-9]{36}\b`}},
	{"a PyPI token", "pypi-", &pattern{text: `\bpypi-AgEI[A-Za-z0-9_-]{50,}`}},
	{"a Hugging Face token", "hf_", &pattern{text: `\bhf_[A-Za-z0-9]{34}\b`}},
	{"a SendGrid key", "SG.", &pattern{text: `\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`}},
	{"a DigitalOcean token", "dop_v1_", &pattern{text: `\bdop_v1_[a-f0-9]{64}\b`}},
	{"an age key", "AGE-SECRET-KEY-1", &pattern{text: `\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b`}},
	{"a Telegram token", ":AA", &pattern{text: `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b`}},
}

var (
	keyHead = &pattern{text: `-----BEGIN (RSA |EC |DSA |OPENSSH |ENCRYPTED |PGP )?PRIVATE KEY( BLOCK)?-----`}
	keyBody = &pattern{text: `^[\s"'#*/]*[A-Za-z0-9+/=]{40,}`}
	keyLine = &pattern{text: `-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----(\\n|\s)*[A-Za-z0-9+/=]{40,}`}
)

// secrets finds tokens and private keys.
func (s *scan) secrets(line string) {
	for _, t := range tokens {
		if !strings.Contains(line, t.word) {
			continue
		}
		if found := t.re.get().FindString(line); found != "" && !placeholder(found) {
			s.add("secret", High, s.line, line, t.what)
			return
		}
	}
	if s.key > 0 && strings.TrimSpace(line) != "" {
		if s.line <= s.key+4 && keyBody.get().MatchString(line) {
			s.add("secret", High, s.key, "-----BEGIN PRIVATE KEY-----", "a private key")
			s.key = 0
		} else if s.line > s.key+4 {
			s.key = 0
		}
	}
	if strings.Contains(line, "PRIVATE KEY") {
		if keyLine.get().MatchString(line) {
			s.add("secret", High, s.line, "-----BEGIN PRIVATE KEY-----", "a private key")
		} else if keyHead.get().MatchString(line) {
			s.key = s.line
		}
	}
}

// placeholder reports whether a token is an example in documentation: it has a word such as
// "example", or fewer than ten different characters.
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

// blacken removes the tokens from a line, because a report has more readers than the text.
func blacken(line string) string {
	for _, t := range tokens {
		if strings.Contains(line, t.word) {
			line = t.re.get().ReplaceAllStringFunc(line, func(found string) string { return found[:min(4, len(found))] + "…" })
		}
	}
	return line
}
