"""Exit 0 if JupyterLab answers: the images' health check, run inside the container."""

import http.client
import sys

PORT = 8888

if __name__ == "__main__":
    try:
        server = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
        server.request("GET", "/api")  # the one page that asks for no token
        status = server.getresponse().status
    except OSError as error:
        sys.exit(f"JupyterLab does not answer on port {PORT}: {error}")
    if status != 200:
        sys.exit(f"JupyterLab answers with status {status}, expected 200.")
