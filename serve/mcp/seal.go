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

// sealer makes states, which a client carries from one round of a call to the next. The client can
// neither read nor change a state, and each is valid once. The key is made for each server and kept
// only in memory, as are the used states: a restart voids open questions.
type sealer struct {
	box  cipher.AEAD
	mu   sync.Mutex
	used map[[stateID]byte]time.Time // by id: when the state expires
}

const (
	stateID  = 12      // bytes: the nonce of AES-GCM
	maxState = 8 << 10 // bytes of a state, sealed
	maxUsed  = 1 << 16 // used states that have not expired
)

func newSealer() *sealer {
	var key [32]byte
	rand.Read(key[:])
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 32 bytes are a valid key
	}
	box, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the block size of GCM
	}
	return &sealer{box: box, used: map[[stateID]byte]time.Time{}}
}

// seal returns the state for an open question.
func (s *sealer) seal(q pending) (string, error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return "", err
	}
	var id [stateID]byte
	rand.Read(id[:])
	state := base64.RawURLEncoding.EncodeToString(s.box.Seal(id[:], id[:], raw, nil))
	if len(state) > maxState {
		return "", errors.New("too many questions in one call")
	}
	return state, nil
}

var errState = errors.New("the answer belongs to no open question")

// open returns the sealed content and marks the state as used.
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

// use reports whether a state was unused until now. If too many used states are remembered, it
// refuses all until some have expired.
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

// randomID returns 128 random bits as text.
func randomID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
