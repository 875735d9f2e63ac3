# SPDX-License-Identifier: Apache-2.0
# An image of the command zklock, without a compiler and without Java. In the top folder of the repository:
#   docker build -f docker/Dockerfile.command -t zklock .
#   docker run --rm zklock --help
FROM debian:12.11 AS build
COPY tests/support/install_packages.sh /tmp/
RUN /tmp/install_packages.sh command
WORKDIR /src
COPY . .
RUN cmake --preset command && cmake --build --preset command \
 && DESTDIR=/image cmake --install build/command --prefix /usr --strip

FROM debian:12.11-slim
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends \
      libzookeeper-mt2 libboost-thread1.74.0 libspdlog1.10 libfmt9 curl \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /image/usr/bin/zklock /usr/bin/
RUN useradd --system --no-create-home zklock
USER zklock
ENTRYPOINT ["zklock"]
