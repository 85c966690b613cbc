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
	// Maximum size of a frame in pion. Media packets and requests are smaller.
	frameMax = 1600
)

var errNoFrame = errors.New("a TCP client sent an invalid or oversized TURN frame")

// framedConnection returns only whole frames. Of a frame that arrives in pieces, pion keeps each piece until the frame is complete. The memory
// grows with the number of pieces, so an unauthenticated client could exhaust the relay's memory with a few connections.
type framedConnection struct {
	net.Conn
	pending [frameMax]byte
	filled  int
}

// Read waits for a whole frame and returns it. The connection must not be used after an error.
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

// frameSize returns the size of the frame that starts with these bytes: 0 if it is not known yet, and more than frameMax if it is not a frame.
func frameSize(begin []byte) int {
	if len(begin) < channelHeader {
		return 0
	}
	length := int(binary.BigEndian.Uint16(begin[2:4]))
	switch begin[0] >> 6 {
	case 0:
		return stunHeader + length
	case 1:
		// Over TCP, channel data is padded to a multiple of four bytes.
		return channelHeader + (length+3)/4*4
	default:
		return frameMax + 1
	}
}
