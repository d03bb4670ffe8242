# clinfer on CPUs, with Intel's OpenCL runtime:
#   docker build -t clinfer .
#   docker run --rm clinfer                          the demo, which downloads its models: the text on a page
#   docker run --rm -v "$PWD:/models" clinfer clinfer run /models/model.onnx
FROM python:3.13-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY clinfer clinfer
RUN pip install --no-cache-dir '.[cpu,demo]'
RUN useradd --create-home user
USER user
WORKDIR /demo
COPY examples examples
CMD ["python", "-m", "examples.read_text"]
