-- A game with LÖVE: it prints each input that it takes, plays a tone, and saves the number of its sessions.
local at = 0

function love.load()
  io.stdout:setvbuf("line")
  love.mouse.setRelativeMode(true)
  local before = tonumber(love.filesystem.read("save.txt") or "0")
  print("sessions " .. before)
  love.filesystem.write("save.txt", tostring(before + 1))
  local data = love.sound.newSoundData(48000, 48000, 16, 1)
  for i = 0, 47999 do data:setSample(i, 0.2 * math.sin(440 * 2 * math.pi * i / 48000)) end
  local tone = love.audio.newSource(data)
  tone:setLooping(true)
  tone:play()
end

function love.update(dt) at = at + dt end

function love.draw()
  love.graphics.clear(0.1, 0.2, 0.4)
  love.graphics.setColor(0.9, 0.6, 0.2)
  love.graphics.rectangle("fill", 200 + (at * 50) % 300, 200, 300, 300)
end

function love.keypressed(key) print("key " .. key) end
function love.mousemoved(_, _, dx, dy) print("look " .. dx .. " " .. dy) end
function love.gamepadpressed(pad, button)
  print("pad " .. button)
  pad:setVibration(0.5, 0.5, 0.5)
end
function love.quit() print("bye") end
