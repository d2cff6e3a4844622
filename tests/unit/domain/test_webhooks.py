"""Where webhooks may go, and how they are signed."""

import pytest

from keepscore.config import load_settings
from keepscore.domain.webhooks import signed_headers, webhook_target
from keepscore.errors import ConfigError

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_the_signature_is_that_of_standard_webhooks():
    # The example of their specification.
    target = webhook_target("https://a.example", SECRET, [])
    headers = signed_headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', target.secret)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://hooks.example.com/", "not https"),
        ("https://127.0.0.1/", "private address"),
        ("https://10.0.0.1/", "private address"),
        ("https://[::1]/", "private address"),
        ("https://[::ffff:10.0.0.1]/", "private address"),
        ("https://169.254.169.254/latest", "private address"),
        ("https://localhost/", "private address"),
        ("https://2130706433/", "private address"),
        ("https://0x7f.1/", "private address"),
        ("https://user:hunter2@hooks.example.com/", "a user, a password"),
        ("ftp://hooks.example.com/", "no URL"),
        ("hooks", "no URL"),
        ("https:///x", "no URL"),
        ("https://hooks.example.com:0/", "no URL"),
        ("https://hooks.example.com/\nx", "characters"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_and_tells_no_secret(url, words):
    settings = {"webhooks.url": url, "webhooks.secret": SECRET}
    with pytest.raises(ConfigError, match=words) as caught:
        load_settings(None, settings, {})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("secret", ["hunter2", "whsec_hunter2", "whsec_" + "a" * 200, SECRET.removeprefix("whsec_")])
def test_a_secret_that_cannot_be_used_is_not_told(secret):
    with pytest.raises(ConfigError, match="the secret is whsec_") as caught:
        load_settings(None, {"webhooks.url": "https://hooks.example.com/", "webhooks.secret": secret}, {})
    assert secret not in str(caught.value)


def test_a_secret_comes_from_one_place(tmp_path):
    with pytest.raises(ConfigError, match="needs a secret"):
        load_settings(None, {"webhooks.url": "https://hooks.example.com/"}, {})
    (tmp_path / "secret").write_text(SECRET + "\n")
    found = load_settings(None, {"webhooks.url": "https://hooks.example.com/x", "webhooks.secret_file": str(tmp_path / "secret")}, {})
    assert (found.webhook.authority, found.webhook.path, found.webhook.is_allowed) == ("hooks.example.com", "/x", False)
    allowed = {"webhooks.url": "http://127.0.0.1:9/x", "webhooks.secret": SECRET, "webhooks.allow": ["127.0.0.1"]}
    assert load_settings(None, allowed, {}).webhook.is_allowed
    assert load_settings(None, {}, {}).webhook is None
