"""Remembers two facts, corrects one of them, and prints what a new conversation would start with.

Start a server with `afterthought serve http`, and set AFTERTHOUGHT_TOKEN to its token.
"""

from afterthought_client import Client

with Client() as memories:
    memories.remember(category="decision", subject="hosting", content="The shop's API is deployed on Heroku.")
    memories.remember(category="fact", subject="language", content="The shop's API is written in Go.")
    moved = memories.remember(
        category="decision", subject="hosting", content="The shop's API is deployed on Fly.io instead of Heroku."
    )
    print(moved["decision"], "-", moved["reason"])
    for memory in memories.search(query="Where does the API run?", limit=3)["memories"]:
        print(f"{memory['match_share']:.0%}  {memory['content']}")
    print(memories.brief(max_tokens=300)["text"])
