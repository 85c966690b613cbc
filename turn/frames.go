package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
)

const (
	stunHeader    = 20
	channelHeader = 4
	// What pion takes of a frame; what media packets and requests need is less.
	frameMax = 1600
)

var errNoFrame = errors.New("what a client of TCP sent is no frame of TURN, or a larger one than there are")

// framedConnection hands on whole frames alone. Of one that comes in pieces, pion keeps each piece until it has all, in memory that grows with their
// number and for as long as the client goes on sending: strangers could take the relay's by a few connections.
type framedConnection struct {
	net.Conn
	pending [frameMax]byte
	filled  int
}

// Read waits for a frame and returns it. The connection is of no use after an error.
func (c *framedConnection) Read(into []byte) (int, error) {
	for {
		size := frameSize(c.pending[:c.filled])
		if size > frameMax {
			return 0, errNoFrame
		}
		if size > 0 && c.filled >= size {
			if len(into) < size {
				return 0, io.ErrShortBuffer
			}
			copy(into, c.pending[:size])
			c.filled = copy(c.pending[:], c.pending[size:c.filled])
			return size, nil
		}
		read, err := c.Conn.Read(c.pending[c.filled:])
		c.filled += read
		if err != nil {
			return 0, err
		}
	}
}

// frameSize is how long the frame is that these bytes begin: 0 while that is not known, and more than there may be for what is no frame.
func frameSize(begin []byte) int {
	if len(begin) < channelHeader {
		return 0
	}
	length := int(binary.BigEndian.Uint16(begin[2:4]))
	switch begin[0] >> 6 {
	case 0:
		return stunHeader + length
	case 1:
		// By TCP what is sent on a channel is filled up to words.
		return channelHeader + (length+3)/4*4
	default:
		return frameMax + 1
	}
}
