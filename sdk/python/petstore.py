"""A client of the Pet Store Service in one file, for Python 3.9 or later, with the standard library only.

    from petstore import PetStore

    store = PetStore("http://localhost:8081/v1", os.environ["KEY"])
    pet = store.request("POST", "/pets", {"name": "Mia", "categoryId": 2}).data
    for pet in store.items("/pets", status="available"):
        print(pet["id"], pet["name"])

Requests are repeated after 408, 429, 503, a failed connection, and 409 idempotency_key_in_use, but never before the
time in Retry-After. POST and PATCH send one Idempotency-Key with all tries.
"""

import base64, hashlib, hmac, json, math, random, time, uuid  # noqa: E401
from email.utils import mktime_tz, parsedate_tz
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import Request, urlopen

RETRIED = {None, 408, 429, 503}
SECONDS_BEFORE_RECONNECT = 2


class PetstoreError(Exception):
    """A failed request. `status` and `code` are None without a response; `retry_after` is in seconds."""

    def __init__(self, message, status=None, code=None, errors=(), request_id=None, retry_after=None):
        super().__init__(message)
        self.status, self.code, self.errors = status, code, errors
        self.request_id, self.retry_after = request_id, retry_after


class WebhookError(Exception):
    """A delivery that the service did not sign, or not recently."""


class Response:
    """A response: `data` is the JSON value, and `headers` find their names in any case."""

    def __init__(self, response):
        with response:
            content = response.read()
        self.status, self.headers = response.status, response.headers
        self.data, get = json.loads(content) if content else None, self.headers.get
        self.etag, self.request_id, self.sync_token = get("ETag"), get("X-Request-Id"), get("X-Sync-Token")
        self.total = int(get("X-Total-Count")) if get("X-Total-Count") else None
        self.next = parse_qs(urlsplit(get("x-next", "")).query).get("cursor", [None])[0]


class PetStore:
    """A client of one deployment. Times are in seconds; a 429 holds all requests of the object back."""

    def __init__(self, base_url, api_key, timeout=30, retries=5, max_wait=60, clock=time, random=random.random):
        self.base_url, self.api_key, self.timeout = base_url.rstrip("/"), api_key, timeout
        self.retries, self.max_wait, self.clock, self.random = retries, max_wait, clock, random
        self.paused_until, self.paused_by = 0, None

    def request(self, method, path, body=None, headers=None, **query):
        """Sends a request, and returns its Response. `body` is a JSON value, or bytes with a Content-Type header."""
        return self._send(method, path, body, headers or {}, query, self.retries, Response)

    def items(self, path, **query):
        """Yields the items of all pages of a list."""
        while True:
            page = self.request("GET", path, **query)
            yield from page.data
            if page.next is None:
                return
            query["cursor"] = page.next

    def events(self, after=None, **query):
        """Yields events as they happen, and reconnects. To continue later, store the `id` of the last event."""
        while True:
            headers = {"Last-Event-ID": after} if after else {}
            try:
                with self._send("GET", "/events/stream", None, headers, query, 10**9, lambda stream: stream) as stream:
                    fields = {}
                    for line in stream:
                        name, _, value = line.decode().rstrip("\r\n").partition(": ")
                        if name:
                            fields[name] = value
                            continue
                        after = fields.get("id", after)
                        if "data" in fields:
                            yield json.loads(fields["data"])
                        fields = {}
            except (OSError, HTTPException):
                pass
            self.clock.sleep(SECONDS_BEFORE_RECONNECT * (1 + self.random()))

    def _send(self, method, path, body, headers, query, retries, read):
        sent = {"Idempotency-Key": str(uuid.uuid4())} if method in ("POST", "PATCH") else {}
        if body is not None and not isinstance(body, bytes):
            body, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
        url = self.base_url + path + ("?" + urlencode(query, doseq=True) if query else "")
        for attempt in range(retries + 1):
            self._wait_for_pause()
            try:
                request = Request(url, body, {**sent, **headers}, method=method)
                # Redirects, which can lead to other hosts, do not take the key along.
                request.add_unredirected_header("Authorization", "Bearer " + self.api_key)
                return read(urlopen(request, timeout=self.timeout))
            except HTTPError as response:
                error = self._error_of(response)
            except (OSError, HTTPException) as reason:
                error = PetstoreError(f"No response: {reason}")
            wait = error.retry_after or 0
            if error.status == 429 and self.clock.time() + wait > self.paused_until:
                self.paused_until, self.paused_by = self.clock.time() + wait, error
            is_temporary = error.status in RETRIED or error.code == "idempotency_key_in_use"
            if not is_temporary or error.code == "api_key_banned" or attempt == retries or wait > self.max_wait:
                raise error
            self.clock.sleep(wait + self.random() * min(30, 2**attempt))

    def _wait_for_pause(self):
        left = self.paused_until - self.clock.time()
        if left > self.max_wait:
            self.paused_by.retry_after = math.ceil(left)
            raise self.paused_by
        if left > 0:
            self.clock.sleep(left + self.random())

    @staticmethod
    def _error_of(response):
        try:
            with response:
                error = json.loads(response.read())
        except (OSError, HTTPException, ValueError):
            error = {}
        date = parsedate_tz(after := response.headers.get("Retry-After", ""))  # Proxies write dates.
        wait = int(after) if after.isdecimal() else date and max(0, mktime_tz(date) - time.time())
        message, request_id = error.get("message", f"Status {response.code}"), response.headers.get("X-Request-Id")
        return PetstoreError(message, response.code, error.get("code"), error.get("errors", ()), request_id, wait)


def unwrap_webhook(body, headers, secret, tolerance=300):
    """Returns the event of a webhook delivery. `body` are its bytes; raises WebhookError if the signature is wrong."""
    found = {name.lower(): value for name, value in headers.items()}
    delivery, timestamp = found.get("webhook-id", ""), found.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > tolerance:
        raise WebhookError("The delivery is not recent.")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{delivery}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    signatures = found.get("webhook-signature", "").split(" ")
    if not any(hmac.compare_digest(one.encode(), expected) for one in signatures):
        raise WebhookError("The signature is wrong.")
    return json.loads(body)
