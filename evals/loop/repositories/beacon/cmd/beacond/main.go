package main

import (
	"flag"
	"fmt"
	"os"

	"example.test/beacon/link"
	"example.test/beacon/queue"
)

var version = "dev"

func main() {
	max := flag.Int("queue", 500, "messages kept while the link is down")
	show := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *show {
		fmt.Println("beacond", version)
		return
	}
	q := queue.Queue{Max: *max}
	fmt.Fprintln(os.Stderr, "beacond: link", link.Down, "waiting", q.Len())
}
