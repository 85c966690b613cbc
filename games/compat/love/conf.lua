function love.conf(t)
  t.identity = "compat"
  t.window.title = "compat"
  t.window.width, t.window.height = 1280, 720
  t.window.fullscreen = true
end
