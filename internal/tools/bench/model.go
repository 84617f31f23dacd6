package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// An exchange is one request of a thread to the model.
type exchange struct {
	came  time.Time // when its first bytes were read
	bytes int64
	said  time.Time // when the first text of the answer was written
	left  time.Time // when the last of it was written
}

// A reply is the model's answer. The zero value is a refusal of the key, which a person can
// correct: it suspends the thread, which sends the same request again after a resume.
type reply struct {
	text string
	stop string // the stop reason in Anthropic's words
}

// cut is the stop reason after which the loop continues the answer in another turn, without a
// call.
const cut = "max_tokens"

// A model is a server on loopback that speaks Anthropic's format and does no work of its own.
type model struct {
	http *http.Server
	host string
	came chan time.Time // requests
	seen chan exchange  // answered requests
	next atomic.Pointer[func() reply]
}

func (b *bench) startModel() (*model, error) {
	l, err := (&net.ListenConfig{}).Listen(b.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{host: l.Addr().String(), came: make(chan time.Time, 1<<16), seen: make(chan exchange, 1<<16)}
	m.http = &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- m.http.Serve(l) }()
	b.ends = append(b.ends, func() error {
		err := m.http.Close()
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		return err
	})
	return m, nil
}

// say sets what the model answers from now on.
func (m *model) say(next func() reply) { m.next.Store(&next) }

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchange{came: time.Now()}
	m.came <- x.came
	x.bytes, _ = io.Copy(io.Discard, r.Body)
	a := (*m.next.Load())()
	if a.stop == "" {
		w.WriteHeader(http.StatusUnauthorized)
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
		event(w, "message_start", `{"type":"message_start","message":{"id":"m","role":"assistant","model":"bench","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`)
		event(w, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		text, _ := json.Marshal(a.text)
		event(w, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, text))
		x.said = time.Now()
		http.NewResponseController(w).Flush()
		event(w, "content_block_stop", `{"type":"content_block_stop","index":0}`)
		event(w, "message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":1}}`, a.stop))
		event(w, "message_stop", `{"type":"message_stop"}`)
	}
	http.NewResponseController(w).Flush()
	x.left = time.Now()
	m.seen <- x
}

func event(w io.Writer, name, data string) {
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
}

// provider returns the text of a provider item for this model.
func (m *model) provider() string {
	return strings.ReplaceAll(`version: "1.0.0"
tool_type: provider
executor_id: null
category: acme
description: A model that costs next to nothing
config:
  endpoint: {base_url: "http://HOST", path: /v1/messages, auth: {type: none}}
  request: {encoder: anthropic-messages, max_tokens: max_tokens}
  stream: {decoder: anthropic-messages}
  finish: {end_turn: end, max_tokens: length}
  usage: {input: input_tokens, output: output_tokens}
  models:
    - id: bench
      tiers: [general]
      context: 100000000
      max_output: 8000
      supports: {tools: true, parallel: true, streaming: true}
      prices: {input: "0.001", output: "0.001"}
  retry: {attempts: 1, base: 0.01, max: 1, elapsed: 5}
`, "HOST", m.host)
}
