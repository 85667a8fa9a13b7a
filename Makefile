# Everything that a person runs. The work is in scripts/.

.PHONY: help demo test bench lint format docs clean

help:
	@echo 'make demo    build, publish noise and show it in a browser (HOST=127.0.0.1 PORT=8080 ROOM=demo'
	@echo '             CAPTURE=noise|pattern|file:PATH; HOST=0.0.0.0 to watch from another machine)'
	@echo 'make test    install what the tests need and run all of them'
	@echo 'make bench   measure the CPU that a publisher needs beyond its codecs'
	@echo 'make lint    check formatting, imports and floors'
	@echo 'make format  bring all Swift files into the one format'
	@echo 'make docs    write the documentation to .build/docs'
	@echo 'make clean   remove everything that was built'

demo:
	@scripts/setup
	@swift build -c release --product emisora
	@exec scripts/demo

test:
	@scripts/test

bench:
	@scripts/setup
	@swift run -c release emisora-bench

lint:
	@scripts/lint

format:
	@swift format --in-place --parallel --recursive Package.swift Sources signaling Tests $(wildcard samples)

docs:
	@scripts/setup
	@scripts/docs

clean:
	rm -rf .build
