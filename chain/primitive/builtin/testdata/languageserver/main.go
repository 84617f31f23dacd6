// Command languageserver is a small language server for tests: it speaks the Language Server
// Protocol over its input and output, and has diagnostics for what a text says.
//
//	BAD    an error          FIXME  a warning
//	MUTE   it never answers  CRASH  it ends            FLOOD  it announces a message of 1 TB
//	PULL   in its own name: it wants to be asked
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf16"
)

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result any             `json:"result,omitempty"`
}

var documents = map[string]string{}

func main() {
	pull := strings.Contains(filepath.Base(os.Args[0]), "pull")
	for in := bufio.NewReader(os.Stdin); ; {
		m, err := receive(in)
		if err != nil {
			os.Exit(1)
		}
		switch m.Method {
		case "initialize":
			can := map[string]any{"textDocumentSync": 1}
			if pull {
				can["diagnosticProvider"] = map[string]any{"interFileDependencies": false}
			}
			send(message{ID: m.ID, Result: map[string]any{"capabilities": can}})
		case "textDocument/didOpen":
			opened(m.Params, pull)
		case "textDocument/diagnostic":
			var p struct{ TextDocument struct{ URI string } }
			json.Unmarshal(m.Params, &p)
			send(message{ID: m.ID, Result: map[string]any{"kind": "full", "items": diagnostics(documents[p.TextDocument.URI])}})
		case "shutdown":
			send(message{ID: m.ID, Result: "bye"})
		case "exit":
			return
		}
	}
}

// opened does as servers do: it asks for its configuration, says that it is busy, reports what it
// sees at first, and then the rest.
func opened(params json.RawMessage, pull bool) {
	var p struct {
		TextDocument struct{ URI, LanguageID, Text string }
	}
	json.Unmarshal(params, &p)
	text := p.TextDocument.Text
	documents[p.TextDocument.URI] = text
	switch {
	case strings.Contains(text, "CRASH"):
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(3)
	case strings.Contains(text, "MUTE"):
		io.Copy(io.Discard, os.Stdin)
	case strings.Contains(text, "FLOOD"):
		fmt.Print("Content-Length: 1000000000000\r\n\r\n")
		io.Copy(io.Discard, os.Stdin)
	}
	send(message{ID: json.RawMessage(`"one"`), Method: "workspace/configuration", Params: json.RawMessage(`{"items":[{},{}]}`)})
	if pull {
		return
	}
	send(message{Method: "$/progress", Params: json.RawMessage(`{"token":1,"value":{"kind":"begin","title":"checking"}}`)})
	publish(p.TextDocument.URI, nil)
	publish("file:///another", []any{map[string]any{"message": "of another file", "range": position(0, 0, 1)}})
	publish(p.TextDocument.URI, diagnostics(text))
	send(message{Method: "$/progress", Params: json.RawMessage(`{"token":1,"value":{"kind":"end"}}`)})
}

func publish(uri string, all []any) {
	if all == nil {
		all = []any{}
	}
	raw, _ := json.Marshal(map[string]any{"uri": uri, "diagnostics": all})
	send(message{Method: "textDocument/publishDiagnostics", Params: raw})
}

// diagnostics counts in units of UTF-16, as the protocol wants.
func diagnostics(text string) (all []any) {
	for n, line := range strings.Split(text, "\n") {
		for severity, word := range []string{"BAD", "FIXME"} {
			if i := strings.Index(line, word); i >= 0 {
				at := len(utf16.Encode([]rune(line[:i])))
				all = append(all, map[string]any{"severity": severity + 1, "message": "found " + word, "code": 40 + severity, "source": "test", "range": position(n, at, at+len(word))})
			}
		}
	}
	return all
}

func position(line, from, to int) map[string]any {
	return map[string]any{"start": map[string]int{"line": line, "character": from}, "end": map[string]int{"line": line, "character": to}}
}

func receive(r *bufio.Reader) (m message, err error) {
	length := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return m, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		fmt.Sscanf(line, "Content-Length: %d", &length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

func send(m message) {
	raw, _ := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		message
	}{"2.0", m})
	fmt.Printf("Content-Length: %d\r\n\r\n%s", len(raw), raw)
}
