"""Requests that are wrong in every way that we could think of, against a running service: each is answered by a 4xx
that names the field, and changes nothing.

    tools/polars/bad.py [REST]        default: 127.0.0.1:4001
"""
import json
import sys

from client import rest

JSON = "application/json"
# body, content type, statuses that are right, field that must be named
CASES = [
    (b"", JSON, {400}, None),
    (b"{", JSON, {400}, None),
    (b"[]", JSON, {400}, None),
    (b"null", JSON, {400}, None),
    (b"3", JSON, {400}, None),
    (b"\xff\xfe", JSON, {400}, None),
    (b'{"amount": 1} x', JSON, {400}, None),
    (b"[" * 100_000, JSON, {400}, None),
    (b"{}", JSON, {422}, "amount"),
    (b'{"amount": null}', JSON, {422}, "amount"),
    (b'{"amount": -1}', JSON, {422}, "amount"),
    (b'{"amount": 1.5}', JSON, {422}, "amount"),
    (b'{"amount": "1"}', JSON, {422}, "amount"),
    (b'{"amount": true}', JSON, {422}, "amount"),
    (b'{"amount": [1]}', JSON, {422}, "amount"),
    (b'{"amount": {}}', JSON, {422}, "amount"),
    (b'{"amount": 4294967296}', JSON, {422}, "amount"),
    (b'{"amount": 1e300}', JSON, {422}, "amount"),
    (b'{"amount": 1e999}', JSON, {400, 422}, None),
    (b'{"amount": NaN}', JSON, {400}, None),
    (b'{"amount": 1, "workers_to_keep": "a"}', JSON, {422}, "workers_to_keep"),
    (b'{"amount": 1, "workers_to_keep": {}}', JSON, {422}, "workers_to_keep"),
    (b'{"amount": 1, "workers_to_keep": ["a", 1]}', JSON, {422}, "workers_to_keep[1]"),
    (b'{"amount": 1, "workers_to_delete": 7}', JSON, {422}, "workers_to_delete"),
    (b'{"amount": 1, "workers_to_delete": [null]}', JSON, {422}, "workers_to_delete[0]"),
    (b'{"amount": 1}', None, {415}, None),
    (b'{"amount": 1}', "text/plain", {415}, None),
    (b'{"amount": 1}', "application/x-www-form-urlencoded", {415}, None),
    (b'{"amount": 1, "x": "' + b"a" * (5 << 20) + b'"}', JSON, {413}, None),
]


def main(address="127.0.0.1:4001"):
    before = rest(address, "GET", "/scale_config")
    for body, kind, right, field in CASES:
        shown = body[:60]
        try:
            status, answer = rest(address, "POST", "/scale_to", body, kind)
        except OSError as error:
            assert right == {413}, (shown, error)  # the server may hang up on what is too long
            continue
        problem = json.loads(answer)
        assert status in right, (shown, status, problem)
        assert field is None or problem.get("field") == field and field in problem["detail"], (shown, problem)
    for method, path, right in [("PUT", "/scale_to", 405), ("POST", "/scale_config", 405), ("GET", "/nothing", 404)]:
        status, _ = rest(address, method, path, b"{}")
        assert status == right, (method, path, status)
    after = rest(address, "GET", "/scale_config")
    assert json.loads(before[1])["desired"] == json.loads(after[1])["desired"], (before, after)
    print(f"ok: {len(CASES) + 3} bad requests refused, nothing changed: {after[1].decode()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
