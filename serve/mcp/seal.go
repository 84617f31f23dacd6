package mcp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// sealer makes states: what a client carries from one round of a call to the next. It can
// neither read nor change one, and each is good once. The key is made anew for each server
// and lies in memory only, and so do the states that were used: a restart voids what is open.
type sealer struct {
	box  cipher.AEAD
	mu   sync.Mutex
	used map[[stateID]byte]time.Time // until when each would have counted
}

const (
	stateID  = 12      // bytes: the nonce of AES-GCM
	maxState = 8 << 10 // bytes of a state, sealed
	maxUsed  = 1 << 16 // states that were used and would still count
)

func newSealer() *sealer {
	var key [32]byte
	rand.Read(key[:])
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	box, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the block size of GCM
	}
	return &sealer{box: box, used: map[[stateID]byte]time.Time{}}
}

// seal returns the state of an open question.
func (s *sealer) seal(q pending) (string, error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return "", err
	}
	var id [stateID]byte
	rand.Read(id[:])
	state := base64.RawURLEncoding.EncodeToString(s.box.Seal(id[:], id[:], raw, nil))
	if len(state) > maxState {
		return "", errors.New("too much was asked in one call")
	}
	return state, nil
}

var errState = errors.New("the answer belongs to no question that is open")

// open returns what was sealed. Whoever opens a state has used it.
func (s *sealer) open(state string, now time.Time) (q pending, err error) {
	if len(state) > maxState {
		return q, errState
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil || len(sealed) < stateID {
		return q, errState
	}
	id := [stateID]byte(sealed[:stateID])
	raw, err := s.box.Open(nil, id[:], sealed[stateID:], nil)
	if err != nil || json.Unmarshal(raw, &q) != nil || !now.Before(q.Until) || !s.use(id, q.Until, now) {
		return pending{}, errState
	}
	return q, nil
}

// use reports whether a state was not used before. When more were used than can be
// remembered, none is good until some have ended.
func (s *sealer) use(id [stateID]byte, until, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.used[id]; twice {
		return false
	}
	if len(s.used) >= maxUsed {
		for k, end := range s.used {
			if !now.Before(end) {
				delete(s.used, k)
			}
		}
	}
	if len(s.used) >= maxUsed {
		return false
	}
	s.used[id] = until
	return true
}

// randomID is 128 random bits, as text.
func randomID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
