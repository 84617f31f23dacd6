package builtin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of a language server's messages.
const (
	maxLSPMessage = 8 << 20 // bytes
	maxLSPHeader  = 4 << 10 // bytes of one line
	maxLSPFields  = 16      // lines of a header
)

// lspMessage is one message of the Language Server Protocol 3.17, which is JSON-RPC 2.0:
// a request has an id and a method, a notification a method, a response an id.
type lspMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *lspError       `json:"error,omitempty"`
}

type lspError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// writeLSP writes a message after its header.
func writeLSP(w io.Writer, m lspMessage) error {
	m.Version = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// readLSP reads one message. It checks the length before it allocates the memory.
func readLSP(r *bufio.Reader) (m lspMessage, err error) {
	length := -1
	for n := 0; ; n++ {
		line, err := readHeaderLine(r)
		switch {
		case err != nil:
			return m, err
		case line == "" && n > 0:
			if length < 0 {
				return m, fmt.Errorf("a message without Content-Length")
			}
			body := make([]byte, length)
			if _, err := io.ReadFull(r, body); err != nil {
				return m, err
			}
			return m, json.Unmarshal(body, &m)
		case n == maxLSPFields:
			return m, fmt.Errorf("a header of more than %d lines", maxLSPFields)
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return m, fmt.Errorf("a line %.60q where a header is wanted", line)
		}
		if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || length < 0 || length > maxLSPMessage {
				return m, fmt.Errorf("a message of %.20q bytes, at most %d are read", strings.TrimSpace(value), maxLSPMessage)
			}
		}
	}
}

// readHeaderLine reads a line of a header without its end.
func readHeaderLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull || len(line) > maxLSPHeader:
		return "", fmt.Errorf("a header line of more than %d bytes", maxLSPHeader)
	case err != nil:
		return "", err
	}
	return string(bytes.TrimRight(line, "\r\n")), nil
}
