package analyze

import (
	"bytes"
	"encoding/hex"
	"sync"
)

// maxSecrets bounds the TLS secrets kept of key logs.
const maxSecrets = 1 << 20

// keyLog holds TLS secrets of an NSS key log (draft-ietf-tls-keylogfile): lines
// of label, client random and secret, both in hex. It is filled by the feeder
// and read by the lanes.
type keyLog struct {
	mu      sync.RWMutex
	secrets map[secretName][]byte
}

type secretName struct {
	label  string
	random [32]byte
}

func newKeyLog() *keyLog { return &keyLog{secrets: map[secretName][]byte{}} }

// add reads a key log; lines that are none are passed over, as other readers do.
func (k *keyLog) add(text []byte) {
	if len(text) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) != 3 || f[0][0] == '#' || len(f[1]) != 64 || len(k.secrets) >= maxSecrets {
			continue
		}
		name := secretName{label: string(f[0])}
		secret := make([]byte, hex.DecodedLen(len(f[2])))
		_, errRandom := hex.Decode(name.random[:], f[1])
		_, errSecret := hex.Decode(secret, f[2])
		if errRandom == nil && errSecret == nil {
			k.secrets[name] = secret
		}
	}
}

func (k *keyLog) get(random []byte, label string) []byte {
	if len(random) != 32 {
		return nil
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.secrets[secretName{label: label, random: [32]byte(random)}]
}
