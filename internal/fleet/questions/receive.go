package questions

// maxReceiving is the number of answers that are received from a node at the same time.
const maxReceiving = 2

// Receive admits the answer of a node before anything of it is read, so that no node occupies what the answers of others need. The caller
// calls done when the answer was read and handled. The error is ErrNoQuestion if the node has no open question, or ErrTooMany.
func (h *Hub) Receive(node string) (done func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.perNode[node] == 0:
		return nil, ErrNoQuestion
	case h.receiving[node] >= maxReceiving:
		return nil, ErrTooMany
	}
	if h.receiving == nil {
		h.receiving = map[string]int{}
	}
	h.receiving[node]++
	return func() { h.received(node) }, nil
}

func (h *Hub) received(node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.receiving[node]--; h.receiving[node] == 0 {
		delete(h.receiving, node)
	}
}
