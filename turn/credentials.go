package main

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pion/stun/v4"
	"github.com/pion/turn/v5"
)

// What is relayed already goes on when its credentials end, but not for longer than this.
const afterExpiry = 24 * time.Hour

// Of one player: a browser opens one for each address of the relay, and again when its network changes.
const allocationsOfUserMax = 16

// Of one player: a browser binds one for each address of a game node. Each packet of a channel is looked up among all that its allocation has.
const channelsOfUserMax = 256

// admitUsers returns the check of time-limited credentials as the "REST API for access to TURN services" describes them: the user name
// is `expiry:name`, the password its HMAC by the shared secret. Their end ends no allocation: only new ones ask for it. A player who has all the
// channels that there are for one gets no more.
func admitUsers(secret []byte, quota *quota, now func() time.Time) turn.AuthHandler {
	return func(request *turn.RequestAttributes) (string, []byte, bool) {
		expiry, name, found := strings.Cut(request.Username, ":")
		seconds, err := strconv.ParseInt(expiry, 10, 64)
		if !found || name == "" || err != nil {
			return "", nil, false
		}
		end := time.Unix(seconds, 0)
		if request.Method != stun.MethodAllocate {
			end = end.Add(afterExpiry)
		}
		if now().After(end) || request.Method == stun.MethodChannelBind && !quota.allowsChannel(name) {
			return "", nil, false
		}
		mac := hmac.New(sha1.New, secret)
		mac.Write([]byte(request.Username))
		password := base64.StdEncoding.EncodeToString(mac.Sum(nil))
		return name, turn.GenerateAuthKey(request.Username, request.Realm, password), true
	}
}

// quota bounds the allocations of each user and of all together, and the channels of each user.
type quota struct {
	mutex    sync.Mutex
	ofUser   map[string]int
	channels map[string]int
	all      int64
	max      int64
	counts   *counts
}

func newQuota(max int64, counts *counts) *quota {
	return &quota{ofUser: map[string]int{}, channels: map[string]int{}, max: max, counts: counts}
}

func (q *quota) allows(user string) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.all < q.max && q.ofUser[user] < allocationsOfUserMax {
		return true
	}
	q.counts.refusedAllocations.Add(1)
	return false
}

func (q *quota) opened(user string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.ofUser[user]++
	q.all++
	q.counts.allocations.Store(q.all)
	q.counts.allocationsTotal.Add(1)
}

func (q *quota) closed(user string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.all--
	q.counts.allocations.Store(q.all)
	if q.ofUser[user]--; q.ofUser[user] <= 0 {
		delete(q.ofUser, user)
	}
}

func (q *quota) allowsChannel(user string) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.channels[user] < channelsOfUserMax {
		return true
	}
	q.counts.refusedAllocations.Add(1)
	return false
}

func (q *quota) channelOpened(user string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.channels[user]++
}

func (q *quota) channelClosed(user string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.channels[user]--; q.channels[user] <= 0 {
		delete(q.channels, user)
	}
}
