package script

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Prompt has the parts of a request that a script can use.
type Prompt struct {
	Format   string // Anthropic or OpenAI
	Model    string
	System   string
	Tools    []string // names
	Messages []Message
	Size     int64  // bytes, from which tokens are estimated
	Seed     string // the ids of an answer derive from it, so that no two answers of a conversation share one
}

// A Message is a message of the conversation.
type Message struct {
	Role    string // user or assistant; results belong to the user
	Text    string // its texts, one per line
	Results []Result
	Calls   []Call // of the assistant
}

// A Result is the result of a call.
type Result struct {
	ID, Name, Text string
	Failed         bool
}

// Turn returns the number of the turn that the prompt asks for, from 1.
func (p *Prompt) Turn() int {
	n := 1
	for _, m := range p.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// last returns the user's texts since the model's last turn, and the results of its calls.
func (p *Prompt) last() Message {
	i := len(p.Messages)
	for i > 0 && p.Messages[i-1].Role == "user" {
		i--
	}
	out := Message{Role: "user"}
	var texts []string
	for _, m := range p.Messages[i:] {
		if m.Text != "" {
			texts = append(texts, m.Text)
		}
		out.Results = append(out.Results, m.Results...)
	}
	out.Text = strings.Join(texts, "\n")
	return out
}

// first returns the user's first text.
func (p *Prompt) first() string {
	for _, m := range p.Messages {
		if m.Role == "user" && m.Text != "" {
			return m.Text
		}
	}
	return ""
}

// contains reports whether s is in the text or in a result.
func (m Message) contains(s string) bool {
	return strings.Contains(m.Text, s) || slices.ContainsFunc(m.Results, func(r Result) bool { return strings.Contains(r.Text, s) })
}

// readPrompt reads the body of a request to Anthropic Messages, and skips everything that a script
// does not use.
func readPrompt(raw []byte) (*Prompt, error) {
	var q struct {
		Model    string `json:"model"`
		System   blocks `json:"system"`
		Tools    []block
		Messages []struct {
			Role    string `json:"role"`
			Content blocks `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		return nil, fmt.Errorf("the request is not one of Anthropic Messages, the format of scripts: %w", err)
	}
	sum := sha256.Sum256(raw)
	p := &Prompt{Format: Anthropic, Model: q.Model, System: q.System.text(), Size: int64(len(raw)), Seed: hex.EncodeToString(sum[:])}
	for _, t := range q.Tools {
		p.Tools = append(p.Tools, t.Name)
	}
	called := map[string]string{} // names by id
	for _, m := range q.Messages {
		out := Message{Role: m.Role, Text: m.Content.text()}
		for _, b := range m.Content {
			switch b.Type {
			case "tool_use":
				called[b.ID] = b.Name
			case "tool_result":
				out.Results = append(out.Results, Result{b.Answers, called[b.Answers], b.Content.text(), b.Failed})
			}
		}
		p.Messages = append(p.Messages, out)
	}
	return p, nil
}

// blocks are content: a list of blocks, or a text, which is one block.
type blocks []block

type block struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	Answers string `json:"tool_use_id"`
	Content blocks `json:"content"`
	Failed  bool   `json:"is_error"`
}

// UnmarshalJSON reads both forms.
func (b *blocks) UnmarshalJSON(raw []byte) error {
	if raw[0] != '"' {
		return json.Unmarshal(raw, (*[]block)(b))
	}
	*b = blocks{{Type: "text"}}
	return json.Unmarshal(raw, &(*b)[0].Text)
}

// text returns the texts, one per line.
func (b blocks) text() string {
	var texts []string
	for _, x := range b {
		if x.Type == "text" && x.Text != "" {
			texts = append(texts, x.Text)
		}
	}
	return strings.Join(texts, "\n")
}
