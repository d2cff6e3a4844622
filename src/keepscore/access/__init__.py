"""Who may do what: API keys, scopes, player tokens, play tokens, signatures, rate limits. Knows no boards, only their names.

Imports `storage` ports and `domain`. Start with `principals` (who may do what) and `keyring` (from credentials to a principal).
"""

from keepscore.access.player_tokens import sign_player_token

__all__ = ["sign_player_token"]
