/// The look of both pages.
enum Stylesheet {
    static let css = #"""
        :root { color-scheme: dark; --ground: #0e1116; --card: #171b22; --line: #262c36; --ink: #e8ecf2; --dim: #8b95a5;
          --accent: #4cc2a0; --second: #e2b55a; --bad: #e2725b; }
        * { box-sizing: border-box; }
        [hidden] { display: none !important; }
        body { margin: 0; min-height: 100vh; background: var(--ground); color: var(--ink);
          font: 15px/1.45 system-ui, "Segoe UI", Roboto, Cantarell, "DejaVu Sans", sans-serif; }
        a { color: inherit; }
        header { display: flex; flex-wrap: wrap; gap: 12px; align-items: center; padding: 14px 20px;
          border-bottom: 1px solid var(--line); }
        .brand { font-weight: 700; letter-spacing: .02em; text-decoration: none; color: var(--accent); }
        #room { font-weight: 600; }
        .pill { padding: 2px 10px; border-radius: 999px; font-size: 13px; background: var(--line); color: var(--dim); }
        .pill.live { background: #16382f; color: var(--accent); }
        #name { color: var(--dim); }
        #stage.dark video { visibility: hidden; }
        .pill.lost { background: #3b211c; color: var(--bad); }
        nav { display: flex; flex-wrap: wrap; gap: 6px; margin-left: auto; }
        nav button, #sound { font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--line);
          border-radius: 8px; padding: 4px 12px; cursor: pointer; }
        nav button[aria-pressed="true"] { border-color: var(--accent); color: var(--accent); }
        button:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
        main { max-width: 1280px; margin: 0 auto; padding: 20px; display: grid; gap: 20px;
          grid-template-columns: minmax(0, 1fr) 300px; }
        #stage { position: relative; aspect-ratio: 4 / 3; max-height: calc(100vh - 110px); width: 100%; background: #000;
          border-radius: 12px; overflow: hidden; border: 1px solid var(--line); }
        video { width: 100%; height: 100%; object-fit: contain; display: block; }
        #message { position: absolute; inset: 0; margin: 0; display: grid; place-content: center; text-align: center;
          padding: 20px; color: var(--dim); font-size: 17px; background: rgb(0 0 0 / .55); }
        #sound { position: absolute; right: 14px; bottom: 14px; background: var(--accent); color: #06241c;
          border-color: transparent; font-weight: 600; padding: 8px 16px; }
        #figures { display: flex; flex-direction: column; gap: 16px; }
        dl { margin: 0; display: grid; grid-template-columns: 1fr 1fr; gap: 10px; }
        dl div { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 12px;
          min-width: 0; }
        dt { color: var(--dim); font-size: 12px; }
        dd { margin: 2px 0 0; font-size: 18px; font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
        meter { width: 100%; height: 10px; }
        figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px; }
        canvas { width: 100%; height: 90px; display: block; }
        figcaption { color: var(--dim); font-size: 12px; margin-top: 8px; }
        figcaption i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin: 0 2px 0 6px; }
        figcaption i.bits { background: var(--accent); margin-left: 0; }
        figcaption i.frames { background: var(--second); }
        @media (max-width: 860px) { main { grid-template-columns: minmax(0, 1fr); padding: 12px; }
          dl { grid-template-columns: repeat(auto-fill, minmax(130px, 1fr)); } }
        .list main { display: block; max-width: 720px; }
        .rooms { list-style: none; padding: 0; display: grid; gap: 10px; }
        .rooms a { display: grid; grid-template-columns: 1fr auto; gap: 2px 12px; padding: 14px 16px; background: var(--card);
          border: 1px solid var(--line); border-radius: 12px; text-decoration: none; }
        .rooms a:hover { border-color: var(--accent); }
        .rooms strong { font-size: 18px; }
        .rooms span { grid-row: 2; color: var(--dim); }
        .rooms .live span { color: var(--accent); }
        .rooms em { font-style: normal; color: var(--dim); }
        .empty { color: var(--dim); }
        .empty a { color: var(--accent); }
        code { background: var(--card); padding: 1px 6px; border-radius: 6px; }

        """#
}
