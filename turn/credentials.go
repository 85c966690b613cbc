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

// Existing allocations outlive their credentials by at most this long.
const afterExpiry = 24 * time.Hour

// Limit per player. A browser opens one allocation for each address of the relay, and again when its network changes.
const allocationsOfUserMax = 16

// Limit per player. A browser binds one channel for each address of a game node. The lookup for each packet searches all channels of its allocation.
const channelsOfUserMax = 256

// admitUsers returns a handler that verifies the time-limited credentials of the "REST API for access to TURN services": the user name is
// `expiry:name` and the password is its HMAC with the shared secret. Only new allocations require unexpired credentials. A player who has
// reached the channel limit cannot bind more.
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

// quota limits the allocations per user and in total, and the channels per user.
type quota struct {
	mutex    sync.Mutex
	perUser  map[string]int
	channels map[string]int
	all      int64
	max      int64
	counts   *counts
}

func newQuota(max int64, counts *counts) *quota {
	return &quota{perUser: map[string]int{}, channels: map[string]int{}, max: max, counts: counts}
}

func (q *quota) allows(user string) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.all < q.max && q.perUser[user] < allocationsOfUserMax {
		return true
	}
	q.counts.refusedAllocations.Add(1)
	return false
}

func (q *quota) opened(user string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.perUser[user]++
	q.all++
	q.counts.allocations.Store(q.all)
	q.counts.allocationsTotal.Add(1)
}

func (q *quota) closed(user string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.all--
	q.counts.allocations.Store(q.all)
	if q.perUser[user]--; q.perUser[user] <= 0 {
		delete(q.perUser, user)
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
