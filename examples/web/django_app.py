"""Boards in a Django program, in one file. Run it with `python django_app.py runserver --noreload`; `application` is for gunicorn.

In a project of many files, `boards` belongs in a module of its own, such as `scores/boards.py`, and the views import it.
"""

import atexit
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from keepscore import Board
from keepscore.sync import Leaderboards

# Nothing is opened yet: the first call does that, after gunicorn has forked.
boards = Leaderboards.open(boards=[Board("global")])
atexit.register(boards.close)


@csrf_exempt
@require_POST
def submit(request: HttpRequest, player: str, score: int) -> JsonResponse:
    """Submit a score."""
    return JsonResponse(boards.submit("global", player, score).to_dict())


def top(request: HttpRequest) -> JsonResponse:
    """Show the first players."""
    return JsonResponse(boards.top("global", limit=int(request.GET.get("limit", 10))).to_dict())


urlpatterns = [path("scores/<str:player>/<int:score>", submit), path("top", top)]
settings.configure(ROOT_URLCONF=__name__, SECRET_KEY="an example", ALLOWED_HOSTS=["127.0.0.1", "localhost", "testserver"])
application = get_wsgi_application()

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
